% Reads a .pogo-field file of version 1.07, which pogo-solve --pogo-files writes, in MATLAB or GNU Octave:
%   f = loadField('weld.out/weld.pogo-field');
%   scatter(f.nodeLocs(1, :), f.nodeLocs(2, :), 4, f.uy(:, end)')
% f.times in s, f.nodeNums (from 1), f.nodeLocs (dimensions x nodes, m), f.ux, f.uy and in 3D f.uz (nodes x times, m).
function f = loadField(path)
    file = fopen(path, 'r', 'ieee-le');
    if file < 0
        error('cannot open %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    if ~strcmp(pogoText(file, 20), '%pogo-field') || any(pogoNumber(file, 'int32', 2) ~= [1; 7])
        error('%s is no .pogo-field file of version 1.07', path);
    end
    pogoSection(file, 'generalInfo', path);
    info = pogoNumber(file, 'int32', 3);
    reals = {'float32', 'float64'};
    real = reals{info(1) / 4};
    pogoSection(file, 'nodes', path);
    n = pogoNumber(file, 'int32', 1);
    f.nodeLocs = reshape(pogoNumber(file, real, info(2) * n), info(2), n);
    f.nodeNums = pogoNumber(file, 'int32', n) + 1;
    pogoSection(file, 'fieldStores', path);
    n_stores = pogoNumber(file, 'int32', 1);
    f.times = zeros(n_stores, 1);
    components = {'ux', 'uy', 'uz'};
    components = components(1:info(3));
    for store = 1:n_stores
        f.times(store) = pogoNumber(file, real, 1);
        for component = components
            f.(component{1})(:, store) = pogoNumber(file, real, n);
        end
    end
end
