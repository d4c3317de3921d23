function values = pogoNumber(file, kind, n)
% pogoNumber  Reads n numbers of a kind such as 'int32'.
    values = double(fread(file, n, kind));
end
