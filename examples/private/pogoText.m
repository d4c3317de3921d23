function found = pogoText(file, n)
% pogoText  Reads n bytes of text: up to its NUL, without blanks at its end.
    found = fread(file, [1, n], 'uint8');
    found = char(found(1:min([find(found == 0, 1) - 1, numel(found)])));
    found = regexprep(found, ' +$', '');
end
